// Makes small kernel packs for tests: templates from knobs and integer programs, workloads, variants. Host only,
// allocates freely. It writes whatever it is told, sound or not, so that the verifier can be tried too.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/pack_view.h"
#include "runtime/program.h"
#include "temper/kernel.h"

namespace temper::test {

struct TestProgram {
  std::vector<Instruction> code;
  std::vector<uint8_t> outputs;
};

struct TestKnob {
  uint16_t id;
  KnobKind kind;
  std::vector<uint16_t> values;
  std::string name;
};

struct TestTemplate {
  uint16_t id = 1, version = 1;
  std::string name = "template";
  uint8_t dim_count = 0;
  std::vector<TestKnob> knobs;
  std::vector<int32_t> constants;
  TestProgram constraint, defaults, shape, features, prior;
  uint64_t extents = 0, parameters = 0;  ///< bits per dim
};

struct TestWorkload {
  uint64_t key = 1;
  uint32_t template_index = 0;
  std::string name = "workload";
  std::vector<int32_t> dims;
  std::vector<uint32_t> elements = {1, 1, 1, 0, 0};  ///< by temper_tensor
  uint8_t constants = 0;
  uint16_t count = 1;
  uint32_t digest = 0;
  uint64_t flops = 1;
  std::vector<uint16_t> default_values = {};  ///< empty: absent
};

struct TestVariant {
  uint8_t template_index = 0;
  std::vector<uint16_t> values;
  uint16_t kernel = 0;
};

struct TestPack {
  uint16_t version = kPackVersion, feature_version = 1;
  std::string target = "test";
  uint32_t pack_hash = 0x1234;
  std::vector<TestTemplate> templates;
  std::vector<TestWorkload> workloads;
  std::vector<TestVariant> variants;
  std::vector<int32_t> facts = {};  ///< empty: absent
  bool dim_roles = true;            ///< false: absent
};

/// Writes one program of a template; equal constants share an entry of the template's table.
///   ProgramWriter w(&t, &t.constraint);
///   w.output(w.op(Op::kLessEqual, w.knob(0), w.dim(0)));
class ProgramWriter {
 public:
  using Value = uint8_t;
  ProgramWriter(TestTemplate* owner, TestProgram* program) : owner_(owner), program_(program) {}
  Value constant(int32_t value);
  Value dim(uint8_t index) { return emit(Op::kDim, index, 0, 0); }
  Value knob(uint8_t index) { return emit(Op::kKnob, index, 0, 0); }
  Value fact(temper_fact index) { return emit(Op::kFact, static_cast<uint8_t>(index), 0, 0); }
  Value op(Op op, Value a, Value b = 0, Value c = 0) { return emit(op, a, b, c); }
  void output(Value value) { program_->outputs.push_back(value); }

 private:
  Value emit(Op op, uint8_t a, uint8_t b, uint8_t c);
  TestTemplate* owner_;
  TestProgram* program_;
};

/// Fills what a template needs but a test does not care about: a constraint that always holds, each knob's default wish
/// its first value, grid 1 without workspace or packing, no features, prior 0. Programs that have outputs are left
/// alone.
void fill_programs(TestTemplate* t);

/// A template of knobs that are all run knobs, ids from 10 on, programs filled. Its size is the product of the lists'
/// lengths.
TestTemplate plain_template(const std::vector<std::vector<uint16_t>>& knob_values);
/// One template, one workload of it without dims; its default is each knob's first value.
TestPack plain_pack(const std::vector<std::vector<uint16_t>>& knob_values);

/// FlatBuffers bytes. Memory of std::vector is aligned to 8 bytes or more.
std::vector<uint8_t> build(const TestPack& pack);
/// As temper_pack over bytes that outlive it.
temper_pack as_pack(const std::vector<uint8_t>& bytes, const temper_kernel* kernels = nullptr,
                    uint32_t kernel_count = 0);

/// A pack that is open, with the scratch its spaces need.
class OpenPack {
 public:
  /// Fails the test (doctest REQUIRE) when the pack does not verify.
  explicit OpenPack(const TestPack& pack, const temper_kernel* kernels = nullptr, uint32_t kernel_count = 0);
  OpenPack(const OpenPack&) = delete;
  OpenPack& operator=(const OpenPack&) = delete;
  const PackView& view() const { return view_; }
  const temper_pack& pack() const { return pack_; }
  int32_t* values() { return values_.data(); }
  Interval* intervals() { return intervals_.data(); }

 private:
  std::vector<uint8_t> bytes_;
  temper_pack pack_{};
  PackView view_;
  std::vector<int32_t> values_;
  std::vector<Interval> intervals_;
};

/// Facts of a small two-core machine with 8 lanes.
temper_facts test_facts();

}  // namespace temper::test
