// Kernel packs and tuned tables as `temper inspect` shows them.
#include <nlohmann/json.hpp>

#include "runtime/pack_view.h"
#include "runtime/table_view.h"
#include "tools/fingerprint_json.h"
#include "tools/inspect.h"
#include "tools/text_table.h"

namespace temper {
namespace {

double microseconds(uint64_t ns) { return static_cast<double>(ns) * 1e-3; }

std::string value_list(const Knob& knob) {
  std::string text;
  for (const uint16_t value : knob.values) {
    text += text.empty() ? "" : " ";
    text += std::to_string(value);
  }
  return text;
}

const char* kind_name(KnobKind kind) { return kind == KnobKind::kCompile ? "compile" : "run"; }

std::string pack_text(const std::string& path, const PackView& view) {
  std::string text = path + ": kernel pack for " + view.target() + ", " + std::to_string(view.template_count()) +
                     " templates, " + std::to_string(view.workload_count()) + " workloads, " +
                     std::to_string(view.variant_count()) + " variants, feature version " +
                     std::to_string(view.feature_version()) + "\n";
  for (uint32_t i = 0; i < view.template_count(); ++i) {
    const TemplateView found = view.get_template(i);
    TextTable knobs({{"knob"}, {"kind"}, {"values"}});
    for (uint32_t k = 0; k < found.knob_count; ++k) {
      const Knob knob = found.knob(k);
      knobs.add_row({knob.name, kind_name(knob.kind), value_list(knob)});
    }
    text +=
        "\ntemplate " + std::string(found.name) + ", version " + std::to_string(found.version) + "\n" + knobs.text();
  }
  TextTable workloads({{"workload"}, {"template"}, {"count", Align::kRight}, {"digest"}});
  for (uint32_t i = 0; i < view.workload_count(); ++i) {
    const WorkloadView found = view.workload(i);
    workloads.add_row({found.name, view.get_template(found.template_index).name, std::to_string(found.count),
                       found.digest == 0 ? "unknown" : hex_key(found.digest).substr(8)});
  }
  return text + "\n" + workloads.text();
}

nlohmann::ordered_json template_json(const TemplateView& found) {
  nlohmann::ordered_json json = {{"name", found.name}, {"id", found.id}, {"version", found.version}};
  json["knobs"] = nlohmann::ordered_json::array();
  for (uint32_t k = 0; k < found.knob_count; ++k) {
    const Knob knob = found.knob(k);
    nlohmann::ordered_json values = nlohmann::ordered_json::array();
    for (const uint16_t value : knob.values) {
      values.push_back(value);
    }
    json["knobs"].push_back({{"id", knob.id}, {"name", knob.name}, {"kind", kind_name(knob.kind)}, {"values", values}});
  }
  return json;
}

nlohmann::ordered_json pack_json(const PackView& view) {
  nlohmann::ordered_json root = {{"schema", 1}, {"kind", "pack"}, {"target", view.target()}};
  root["feature_version"] = view.feature_version();
  root["pack_hash"] = view.pack_hash();
  root["variants"] = view.variant_count();
  root["templates"] = nlohmann::ordered_json::array();
  for (uint32_t i = 0; i < view.template_count(); ++i) {
    root["templates"].push_back(template_json(view.get_template(i)));
  }
  root["workloads"] = nlohmann::ordered_json::array();
  for (uint32_t i = 0; i < view.workload_count(); ++i) {
    const WorkloadView found = view.workload(i);
    root["workloads"].push_back({{"key", hex_key(found.key)},
                                 {"workload", found.name},
                                 {"template", view.get_template(found.template_index).name},
                                 {"count", found.count},
                                 {"digest", found.digest}});
  }
  return root;
}

std::string knobs_text(const TableEntryView& entry) {
  std::string text;
  for (const format::KnobValue& knob : entry.knobs) {
    text += text.empty() ? "" : " ";
    text += std::to_string(knob.id());
    text += '=';
    text += std::to_string(knob.value());
  }
  return text;
}

}  // namespace

Result<Inspection> inspect_pack(const std::string& path, const void* data, size_t bytes) {
  PackView view;
  const char* reason = "";
  const Status opened = PackView::open(temper_pack{data, bytes, nullptr, 0}, &view, &reason);
  if (!opened.ok()) {
    return Error{opened.code(), path + ": not a kernel pack that this build reads: " + reason};
  }
  return Inspection{pack_text(path, view), pack_json(view)};
}

Result<Inspection> inspect_table(const std::string& path, const void* data, size_t bytes) {
  TableView view;
  const char* reason = "";
  const Status opened = TableView::open(temper_table{data, bytes}, &view, &reason);
  if (!opened.ok()) {
    return Error{opened.code(), path + ": not a tuned table that this build reads: " + reason};
  }
  nlohmann::ordered_json root = {{"schema", 1}, {"kind", "table"}, {"target", view.target()}};
  root["fingerprint"] = fingerprint_json(view.fingerprint());
  root["entries"] = nlohmann::ordered_json::array();
  TextTable table(
      {{"workload"}, {"default us", Align::kRight}, {"tuned us", Align::kRight}, {"config (knob id=value)"}});
  for (uint32_t i = 0; i < view.count(); ++i) {
    const TableEntryView entry = view.entry(i);
    table.add_row({entry.name, decimal(microseconds(entry.default_ns), 1), decimal(microseconds(entry.tuned_ns), 1),
                   knobs_text(entry)});
    nlohmann::ordered_json config = nlohmann::ordered_json::object();
    for (const format::KnobValue& knob : entry.knobs) {
      config[std::to_string(knob.id())] = knob.value();
    }
    root["entries"].push_back({{"key", hex_key(entry.workload)},
                               {"workload", entry.name},
                               {"template_id", entry.template_id},
                               {"default_us", microseconds(entry.default_ns)},
                               {"tuned_us", microseconds(entry.tuned_ns)},
                               {"config_by_knob_id", config}});
  }
  return Inspection{path + ": tuned table for " + view.target() + ", " + std::to_string(view.count()) +
                        " entries\nmade on: " + fingerprint_text(view.fingerprint()) + "\n" + table.text(),
                    root};
}

}  // namespace temper
