// Progress of a tuning run on standard error: a live bar on a terminal, one line per workload elsewhere, nothing when
// quiet. Called by tune; prints, never decides.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/tuner.h"

namespace temper {

enum class ProgressStyle { kQuiet, kLines, kBar };

/// kBar when standard error is a terminal.
ProgressStyle progress_style(bool quiet);

class Progress {
 public:
  /// `names` by workload; limits of the run, 0 = none.
  Progress(ProgressStyle style, std::vector<std::string> names, uint64_t budget_ns, uint32_t trials);

  void on_event(const Tuner& tuner, const TunerEvent& event);
  /// Redraws the bar, at most some ten times a second.
  void refresh(const Tuner& tuner);
  /// A line of its own, above the bar.
  void say(const std::string& line);
  /// The same where nothing else is said: that results are not kept is no progress.
  void warn(const std::string& line);
  /// Takes the bar away.
  void end();

 private:
  void draw(const Tuner& tuner);
  void erase();

  ProgressStyle style_;
  std::vector<std::string> names_;
  uint64_t budget_ns_;
  uint32_t trials_;
  uint32_t workload_ = 0;
  uint64_t drawn_at_ns_ = 0;
  bool drawn_ = false;
};

}  // namespace temper
