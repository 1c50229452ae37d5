#include "tools/suggestion.h"

#include <algorithm>

namespace temper {

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> distance(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        distance[i][j] = i + j;
        continue;
      }
      const size_t replaced = distance[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      distance[i][j] = std::min({distance[i - 1][j] + 1, distance[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        distance[i][j] = std::min(distance[i][j], distance[i - 2][j - 2] + 1);
      }
    }
  }
  return distance[a.size()][b.size()];
}

std::string nearest_word(const std::string& word, const std::vector<std::string>& known) {
  size_t least = std::max<size_t>(2, word.size() / 3) + 1;
  std::string nearest;
  for (const std::string& candidate : known) {
    const size_t distance = edit_distance(word, candidate);
    if (distance < least && distance < candidate.size()) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  const std::string nearest = nearest_word(word, known);
  return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}

}  // namespace temper
