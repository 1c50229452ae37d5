// "Did you mean": the nearest known word to a mistyped one. Used for commands, options and names of built-in networks.
#pragma once

#include <string>
#include <vector>

namespace temper {

/// Least number of insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
size_t edit_distance(const std::string& a, const std::string& b);

/// The nearest of `known` that is at most a third of `word` away (two letters at least are allowed); empty when none
/// is.
std::string nearest_word(const std::string& word, const std::vector<std::string>& known);

/// "; did you mean 'tune'?" or empty.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& known);

}  // namespace temper
