#include "tools/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "tools/duration.h"
#include "tools/text_table.h"

namespace temper {
namespace {

constexpr uint64_t kRedrawNs = 100'000'000;
constexpr int kBarCells = 24;
constexpr size_t kNarrowestTerminal = 20;

const char* stop_text(StopReason reason) {
  static constexpr const char* kTexts[] = {
      "running",      "budget spent", "every config tried", "too many failures in a row",
      "no more gain", "committed",    "the default failed", "budget did not reach it",
      "confirmed"};
  const auto index = static_cast<size_t>(reason);
  return index < std::size(kTexts) ? kTexts[index] : "stopped";
}

std::string gain_text(uint64_t default_ns, uint64_t tuned_ns) {
  return default_ns == 0 || tuned_ns == 0
             ? ""
             : decimal(static_cast<double>(default_ns) / static_cast<double>(tuned_ns), 2) + "x";
}

size_t terminal_columns() {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= kNarrowestTerminal;
  return known ? size.ws_col : 80;
}

}  // namespace

ProgressStyle progress_style(bool quiet) {
  return quiet ? ProgressStyle::kQuiet : ::isatty(STDERR_FILENO) == 1 ? ProgressStyle::kBar : ProgressStyle::kLines;
}

Progress::Progress(ProgressStyle style, std::vector<std::string> names, uint64_t budget_ns, uint32_t trials)
    : style_(style), names_(std::move(names)), budget_ns_(budget_ns), trials_(trials) {}

void Progress::on_event(const Tuner& tuner, const TunerEvent& event) {
  if (event.kind == TunerEvent::Kind::kTrial) {
    workload_ = event.workload;
    return;
  }
  if (event.kind == TunerEvent::Kind::kStorageLost || event.workload >= names_.size()) {
    return;
  }
  const WorkloadState& state = tuner.state(event.workload);
  std::string line = names_[event.workload] + ": ";
  if (event.kind == TunerEvent::Kind::kCommit) {
    const bool kept = state.kept_default;
    line += "default " + duration_text(state.rematch_default_ns);
    line += kept ? ", kept"
                 : ", tuned " + duration_text(state.rematch_best_ns) + " (" +
                       gain_text(state.rematch_default_ns, state.rematch_best_ns) + ")";
    say(line + ", " + std::to_string(state.trials) + (state.trials == 1 ? " trial" : " trials"));
  } else if (state.stop == StopReason::kFailures || state.stop == StopReason::kDefaultFailed) {
    say(line + stop_text(state.stop));
  }
}

void Progress::say(const std::string& line) {
  if (style_ != ProgressStyle::kQuiet) {
    warn(line);
  }
}

void Progress::warn(const std::string& line) {
  erase();
  std::fprintf(stderr, "%s\n", line.c_str());
}

void Progress::refresh(const Tuner& tuner) {
  const uint64_t now = tuner.elapsed_ns();
  if (style_ != ProgressStyle::kBar || (drawn_ && now - drawn_at_ns_ < kRedrawNs)) {
    return;
  }
  drawn_at_ns_ = now;
  draw(tuner);
}

void Progress::draw(const Tuner& tuner) {
  const double by_time =
      budget_ns_ == 0 ? 0.0 : static_cast<double>(tuner.elapsed_ns()) / static_cast<double>(budget_ns_);
  const double by_trials = trials_ == 0 ? 0.0 : static_cast<double>(tuner.trials()) / static_cast<double>(trials_);
  const int filled = std::min(kBarCells, static_cast<int>(std::max(by_time, by_trials) * kBarCells));
  std::string line("[");
  line.append(static_cast<size_t>(filled), '#').append(static_cast<size_t>(kBarCells - filled), '.').append("] ");
  line += decimal(static_cast<double>(tuner.elapsed_ns()) / 1e9, 0);
  if (budget_ns_ != 0) {
    line.append("/").append(decimal(static_cast<double>(budget_ns_) / 1e9, 0));
  }
  line.append(" s  ").append(std::to_string(tuner.trials())).append(" trials");
  if (workload_ < names_.size() && workload_ < tuner.workload_count()) {
    const WorkloadState& state = tuner.state(workload_);
    line.append("  ").append(names_[workload_]).append(" ").append(gain_text(state.default_ns, state.best_ns));
  }
  line.resize(std::min(line.size(), terminal_columns() - 1));
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::erase() {
  if (drawn_) {
    std::fputs("\r\033[K", stderr);
    drawn_ = false;
  }
}

void Progress::end() { erase(); }

}  // namespace temper
