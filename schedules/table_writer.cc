#include "schedules/table_writer.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <numeric>

namespace temper {
namespace {

constexpr size_t kBytesPerLine = 16;

Error invalid(const TableEntry& entry, const std::string& what) {
  char key[32];
  std::snprintf(key, sizeof key, "%016llx", static_cast<unsigned long long>(entry.workload));
  return Error{TEMPER_INVALID_ARGUMENT, "tuned table: workload " + entry.name + " (" + key + ") " + what};
}

Result<bool> sort_and_check(std::vector<TableEntry>* entries) {
  std::sort(entries->begin(), entries->end(),
            [](const TableEntry& a, const TableEntry& b) { return a.workload < b.workload; });
  for (size_t i = 0; i < entries->size(); ++i) {
    TableEntry& entry = (*entries)[i];
    if (i != 0 && entry.workload == (*entries)[i - 1].workload) {
      return invalid(entry, "is there twice; keep the better one");
    }
    if (entry.baked.has_value() != entries->front().baked.has_value()) {
      return invalid(entry, "is baked and others are not, or the other way round; bake all of them or none");
    }
    if (entry.knobs.size() > TEMPER_MAX_KNOBS) {
      return invalid(entry, "has " + std::to_string(entry.knobs.size()) + " knobs; at most " +
                                std::to_string(TEMPER_MAX_KNOBS) + " are possible");
    }
    std::sort(entry.knobs.begin(), entry.knobs.end(), [](TableKnob a, TableKnob b) { return a.id < b.id; });
    for (size_t k = 1; k < entry.knobs.size(); ++k) {
      if (entry.knobs[k].id == entry.knobs[k - 1].id) {
        return invalid(entry, "has knob " + std::to_string(entry.knobs[k].id) + " twice");
      }
    }
  }
  return true;
}

using Strings = std::vector<flatbuffers::Offset<flatbuffers::String>>;

flatbuffers::Offset<format::TableEntry> write_entry(flatbuffers::FlatBufferBuilder& builder, const TableEntry& entry,
                                                    Strings* names) {
  std::vector<format::KnobValue> knobs;
  for (const TableKnob& knob : entry.knobs) {
    knobs.emplace_back(knob.id, knob.value);
  }
  const auto knob_vector = builder.CreateVectorOfStructs(knobs);
  names->push_back(builder.CreateString(entry.name));
  const auto dims =
      entry.dims.empty() ? flatbuffers::Offset<flatbuffers::Vector<int32_t>>() : builder.CreateVector(entry.dims);
  return format::CreateTableEntry(builder, entry.workload, entry.template_id, entry.template_version, entry.default_ns,
                                  entry.tuned_ns, knob_vector, names->back(), dims);
}

format::BakedPlan baked_plan(const BakedPlan& baked) {
  const temper_plan& plan = baked.plan;
  return format::BakedPlan(plan.grid, plan.workspace_bytes, plan.packed_bytes, baked.constant, baked.kernel,
                           static_cast<uint16_t>(plan.threads), static_cast<uint8_t>(plan.packed_tensor),
                           static_cast<uint8_t>(plan.memory), 0,
                           flatbuffers::span<const int32_t, 11>(plan.pack_layout));
}

format::BakedEntry baked_entry(const TableEntry& entry) {
  const BakedEntry& baked = *entry.baked;
  return format::BakedEntry(entry.default_ns, entry.tuned_ns,
                            flatbuffers::span<const uint32_t, TEMPER_TENSOR_COUNT>(baked.elements), baked.digest,
                            baked.count, 0, baked_plan(baked.winner), baked_plan(baked.fallback));
}

std::vector<uint32_t> indices_by_name(const std::vector<TableEntry>& entries) {
  std::vector<uint32_t> indices(entries.size());
  std::iota(indices.begin(), indices.end(), 0u);
  std::stable_sort(indices.begin(), indices.end(),
                   [&](uint32_t a, uint32_t b) { return entries[a].name < entries[b].name; });
  return indices;
}

/// The whole table; its checksum is yet to be filled in.
flatbuffers::Offset<format::TunedTable> write_root(flatbuffers::FlatBufferBuilder& builder,
                                                   const std::vector<TableEntry>& entries,
                                                   const Fingerprint& fingerprint, const std::string& target) {
  constexpr uint32_t kToBeFilledIn = 1;
  std::vector<flatbuffers::Offset<format::TableEntry>> offsets;
  std::vector<uint64_t> keys;
  std::vector<format::BakedEntry> baked;
  Strings names;
  for (const TableEntry& entry : entries) {
    offsets.push_back(write_entry(builder, entry, &names));
    keys.push_back(entry.workload);
    if (entry.baked.has_value()) {
      baked.push_back(baked_entry(entry));
    }
  }
  const auto entry_vector = builder.CreateVector(offsets);
  // FlatBuffers does not align empty vectors, and there is nothing to find in one.
  const auto key_vector = keys.empty() ? 0 : builder.CreateVector(keys);
  const auto target_text = builder.CreateString(target);
  if (baked.empty()) {
    return format::CreateTunedTable(builder, kTableVersion, &fingerprint, target_text, entry_vector, key_vector,
                                    kToBeFilledIn);
  }
  const auto baked_vector = builder.CreateVectorOfStructs(baked);
  const auto name_vector = builder.CreateVector(names);
  const auto by_name = builder.CreateVector(indices_by_name(entries));
  return format::CreateTunedTable(builder, kTableVersion, &fingerprint, target_text, entry_vector, key_vector,
                                  kToBeFilledIn, baked_vector, name_vector, by_name);
}

bool is_identifier(const std::string& name) {
  const auto word = [](unsigned char c) { return c < 128 && (std::isalnum(c) != 0 || c == '_'); };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::all_of(name.begin(), name.end(), word);
}

}  // namespace

Result<std::vector<uint8_t>> write_table(std::vector<TableEntry> entries, const Fingerprint& fingerprint,
                                         const std::string& target) {
  const Result<bool> sorted = sort_and_check(&entries);
  if (!sorted.ok()) {
    return sorted.error();
  }
  flatbuffers::FlatBufferBuilder builder;
  format::FinishTunedTableBuffer(builder, write_root(builder, entries, fingerprint, target));
  std::vector<uint8_t> bytes(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
  uint32_t crc = 0;
  size_t at = 0;
  if (table_crc({bytes.data(), bytes.size()}, &crc, &at)) {
    std::memcpy(bytes.data() + at, &crc, sizeof crc);
  }

  TableView view;
  const char* reason = "";
  const Status status = TableView::open({bytes.data(), bytes.size()}, &view, &reason);
  if (!status.ok()) {
    return Error{status.code(), std::string("tuned table: what was written does not verify: ") + reason};
  }
  return bytes;
}

Result<std::string> table_as_c_source(const std::vector<uint8_t>& table, const std::string& name,
                                      const std::string& generator) {
  if (!is_identifier(name)) {
    return Error{TEMPER_INVALID_ARGUMENT, "tuned table: \"" + name + "\" is no C identifier; name the array otherwise"};
  }
  std::string one_line = generator;
  std::replace_if(
      one_line.begin(), one_line.end(), [](unsigned char c) { return c < 32 || c == '\\'; }, ' ');
  const std::string size = std::to_string(table.size());
  std::string text = "// Generated by " + one_line + "; do not edit.\n#include <stddef.h>\n\n";
  text += "#ifdef __cplusplus\n#define TEMPER_ALIGNED_8 alignas(8)\nextern \"C\" {\n";
  text += "#else\n#define TEMPER_ALIGNED_8 _Alignas(8)\n#endif\n";
  text += "extern const unsigned char " + name + "[" + size + "];\nextern const size_t " + name + "_bytes;\n\n";
  text += "TEMPER_ALIGNED_8 const unsigned char " + name + "[" + size + "] = {";
  for (size_t i = 0; i < table.size(); ++i) {
    text += i % kBytesPerLine == 0 ? "\n    " : " ";
    text += std::to_string(table[i]) + ",";
  }
  text += "\n};\nconst size_t " + name + "_bytes = sizeof " + name + ";\n\n#ifdef __cplusplus\n}\n#endif\n";
  return text;
}

}  // namespace temper
