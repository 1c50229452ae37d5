// `temper merge F... -o F`: joins histories, whatever they lie in, and tuned tables, by provenance. The output is
// written whole or not at all, and never takes the place of something that it does not contain.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "tools/commands.h"
#include "tools/exit_code.h"
#include "tools/history_file.h"
#include "tools/history_journal.h"
#include "tools/history_merge.h"
#include "tools/history_source.h"
#include "tools/json_output.h"
#include "tools/option_values.h"
#include "tools/table_merge.h"
#include "tools/text_table.h"
#include "tools/whole_file.h"

namespace temper {
namespace {

namespace fs = std::filesystem;

constexpr char kAuto[] = "auto", kTable[] = "table", kHistory[] = "history";

struct MergeCommand {
  std::vector<std::string> files;
  std::string output, json, as = kAuto;
  std::optional<uint64_t> offset;
};

/// One input, read and verified: a history or a table.
struct Input {
  std::string path;
  std::vector<uint64_t> words;  ///< of a table: read in place
  std::optional<TableView> table;
  bool baked = false;
  HistoryForm form = HistoryForm::kFile;
  HistoryRecords records;  ///< of a table: its entries as commits
};

struct Merged {
  bool is_table = false;
  std::vector<uint8_t> bytes;
  nlohmann::ordered_json json;
  std::string text;
};

bool is_table(std::string_view contents) { return contents.size() >= 8 && contents.substr(4, 4) == "TMPT"; }

Result<Input> read_table_input(const std::string& path, std::vector<uint64_t> words, size_t bytes) {
  Input input;
  input.path = path;
  input.words = std::move(words);
  const temper_table table{input.words.data(), bytes};
  const format::TunedTable* root = nullptr;
  TableView view;
  const char* reason = "";
  Status opened = TableView::open(table, &view, &reason);
  if (opened.ok()) {
    opened = open_table(table, &root, &reason);
  }
  if (!opened.ok()) {
    return Error{opened.code(), path + ": not a tuned table that this build reads: " + reason};
  }
  input.table = view;
  input.baked = root->baked() != nullptr;
  input.records = records_of_table(view);
  return input;
}

Result<Input> read_input(const std::string& path, std::optional<uint64_t> offset, HistoryLock lock) {
  size_t bytes = 0;
  Result<std::vector<uint64_t>> words = read_whole_file(path, &bytes);
  if (!words) {
    return words.error();
  }
  const std::string_view contents(reinterpret_cast<const char*>(words->data()), bytes);
  if (!offset && is_table(contents)) {
    return read_table_input(path, std::move(*words), bytes);
  }
  Result<HistorySource> source = parse_history(path, contents, offset);
  if (source && !offset) {
    source = with_journals(std::move(*source), lock);
  }
  if (!source) {
    const bool foreign = source.error().code == TEMPER_BAD_DATA && !offset && !resembles_history(contents);
    return foreign ? Error{TEMPER_BAD_DATA, path + ": is neither a history nor a tuned table; nothing else is merged"}
                   : source.error();
  }
  tell_remarks(*source);
  Input input;
  input.path = path;
  input.form = source->form;
  input.records = read_records(*source);
  if (input.records.orphans + input.records.unreadable > 0) {
    std::fprintf(stderr,
                 "temper: %s: %u records whose fingerprint is missing and %u frames not understood are left out\n",
                 printable(path).c_str(), input.records.orphans, input.records.unreadable);
  }
  return input;
}

Result<std::vector<Input>> read_inputs(const MergeCommand& command) {
  std::vector<Input> inputs;
  for (const std::string& path : command.files) {
    std::error_code none;
    const bool ours = fs::equivalent(path, command.output, none);
    Result<Input> input = read_input(path, command.offset, ours ? HistoryLock::kOurs : HistoryLock::kElsewhere);
    if (!input) {
      return input.error();
    }
    inputs.push_back(std::move(*input));
  }
  return inputs;
}

/// Nothing where one of them is no table.
std::vector<NamedTable> tables_of(const std::vector<Input>& inputs) {
  std::vector<NamedTable> tables;
  for (const Input& input : inputs) {
    if (!input.table) {
      return {};
    }
    tables.push_back({input.path, *input.table, input.baked});
  }
  return tables;
}

Result<Merged> merge_as_tables(const std::vector<NamedTable>& tables) {
  Result<MergedTable> joined = merge_tables(tables);
  if (!joined) {
    return joined.error();
  }
  Merged merged;
  merged.is_table = true;
  merged.text = "tuned table of " + std::to_string(joined->entries) + " workloads; " +
                std::to_string(joined->replaced) + " entries for the same workload gave way to better or equal ones\n";
  merged.json = {{"schema", 1}, {"kind", "table"}, {"entries", joined->entries}, {"replaced", joined->replaced}};
  merged.bytes = std::move(joined->bytes);
  return merged;
}

Result<Merged> merge_as_histories(const std::vector<Input>& inputs) {
  std::vector<HistoryRecords> histories;
  for (const Input& input : inputs) {
    histories.push_back(input.records);
  }
  Result<MergedHistory> joined = merge_histories(histories);
  if (!joined) {
    return joined.error();
  }
  Merged merged;
  merged.text = "history of " + std::to_string(joined->workloads) + " workloads: " + std::to_string(joined->trials) +
                " trials and " + std::to_string(joined->commits) + " commits under " +
                std::to_string(joined->fingerprints) + " fingerprints; " + std::to_string(joined->duplicates) +
                " duplicates dropped\n";
  merged.json = {{"schema", 1},
                 {"kind", "history"},
                 {"fingerprints", joined->fingerprints},
                 {"workloads", joined->workloads},
                 {"trials", joined->trials},
                 {"commits", joined->commits},
                 {"duplicates", joined->duplicates}};
  merged.bytes = std::move(joined->bytes);
  return merged;
}

Result<Merged> merge_inputs(const std::vector<Input>& inputs, const std::string& as) {
  const std::vector<NamedTable> tables = tables_of(inputs);
  if (as == kTable && tables.empty()) {
    const auto history =
        std::find_if(inputs.begin(), inputs.end(), [](const Input& input) { return !input.table.has_value(); });
    return Error{TEMPER_INVALID_ARGUMENT, history->path +
                                              " is a history, and a table is made of tables alone: temper bake makes "
                                              "one of a history, --as history joins them all"};
  }
  const bool as_table = as == kTable || (as == kAuto && !tables.empty() && of_one_device(tables));
  return as_table ? merge_as_tables(tables) : merge_as_histories(inputs);
}

/// What lies at the output already is replaced only where nothing of it is lost: it is an input, or contained in the
/// result. A console log or flash image is never replaced by what was read out of it.
Result<bool> may_replace(const MergeCommand& command, std::vector<Input>* inputs, const Merged& merged) {
  const std::string& output = command.output;
  std::error_code none;
  if (!fs::is_regular_file(output, none) || fs::file_size(output, none) == 0) {
    return true;
  }
  for (const Input& input : *inputs) {
    if (!fs::equivalent(input.path, output, none)) {
      continue;
    }
    return input.table.has_value() == merged.is_table && input.form == HistoryForm::kFile
               ? Result<bool>(true)
               : Error{TEMPER_INVALID_ARGUMENT, output +
                                                    ": is an input of another form than the result; name another "
                                                    "output"};
  }
  Result<Input> old = read_input(output, std::nullopt, HistoryLock::kOurs);
  const bool same_kind = old && old->table.has_value() == merged.is_table && old->form == HistoryForm::kFile;
  if (same_kind) {
    inputs->push_back(std::move(*old));
    const Result<Merged> with_old = merge_inputs(*inputs, command.as);
    inputs->pop_back();
    if (with_old && with_old->bytes == merged.bytes) {
      return true;
    }
  }
  return Error{TEMPER_INVALID_ARGUMENT,
               output + ": exists and holds what the result would not; name it as an input too, or another output"};
}

nlohmann::ordered_json inputs_json(const std::vector<Input>& inputs) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Input& input : inputs) {
    nlohmann::ordered_json json = {{"file", input.path}};
    if (input.table) {
      json["entries"] = input.table->count();
    } else {
      json["trials"] = input.records.trials.size();
      json["commits"] = input.records.commits.size();
      json["lost_frames"] = input.records.lost_frames;
      json["orphaned_records"] = input.records.orphans;
      json["unreadable_frames"] = input.records.unreadable;
      json["damaged_bytes"] = input.records.damaged_bytes;
    }
    list.push_back(std::move(json));
  }
  return list;
}

Result<Merged> merge_to_file(const MergeCommand& command) {
  const Result<HistoryFile> lock = hold_history(command.output);  // while it is read and replaced
  if (!lock) {
    return lock.error();
  }
  Result<std::vector<Input>> inputs = read_inputs(command);
  if (!inputs) {
    return inputs.error();
  }
  Result<Merged> merged = merge_inputs(*inputs, command.as);
  if (!merged) {
    return merged.error();
  }
  const Result<bool> free = may_replace(command, &*inputs, *merged);
  if (!free) {
    return free.error();
  }
  const Result<bool> written = write_whole_file(command.output, merged->bytes);
  if (!written) {
    return written.error();
  }
  merged->text = command.output + ": " + merged->text;
  merged->json["output"] = command.output;
  merged->json["bytes"] = merged->bytes.size();
  merged->json["inputs"] = inputs_json(*inputs);
  return merged;
}

int run(const MergeCommand& command) {
  Result<bool> apart = keep_apart({command.json}, command.files);
  apart = apart ? keep_apart({command.output, command.json}, {}) : apart;  // the output may be an input
  if (!apart) {
    return report(apart.error());
  }
  if (command.offset && command.files.size() > 1) {
    return report(Error{TEMPER_INVALID_ARGUMENT,
                        "--offset says where a history begins in one image; merge that image "
                        "alone first"});
  }
  const Result<Merged> merged = merge_to_file(command);
  if (!merged) {
    return report(merged.error());
  }
  if (!command.json.empty()) {
    const Result<bool> written = write_json(merged->json, command.json);
    if (!written) {
      return report(written.error());
    }
  }
  if (command.json != "-") {
    std::fputs(merged->text.c_str(), stdout);
  }
  return kExitDone;
}

}  // namespace

void add_merge_command(CLI::App& app, int* exit_code) {
  CLI::App* command =
      app.add_subcommand("merge", "Joins histories (files, console logs, flash images) and tuned tables");
  auto options = std::make_shared<MergeCommand>();
  command->add_option("FILE", options->files, "what is joined, in any order and any number of times")->required();
  command->add_option("-o,--output", options->output, "the file to write; may be one of the inputs")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--as", options->as,
                   "what is made. auto: a table of tables of one device alone, else a history, in which a table's "
                   "entries are commits under its fingerprint. table: of each workload the best entry stays. history: "
                   "nothing is left out, so that tables may be joined in any grouping with histories")
      ->check(CLI::IsMember({kAuto, kTable, kHistory}))
      ->capture_default_str();
  command->add_option("--offset", options->offset, "where the history begins in a flash image, in bytes (12 or 0xC)")
      ->transform(byte_offset());
  command->add_option("--json", options->json, "write what was joined as JSON ('-': standard output)")
      ->type_name("FILE|-");
  command->footer("Example: temper merge board1.log board2.log lab.history -o all.history");
  command->callback([options, exit_code] { *exit_code = run(*options); });
}

}  // namespace temper
