// Machine code for a template's kernel: loop nest -> LLVM IR -> object file, for the host or for another core. Host
// only; the one folder that includes LLVM. Called by the JIT worker and by the pack builder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "codegen/target.h"
#include "schedules/templates.h"

namespace temper {

/// kBaked: dims and every knob are constants of the code. kPack: only compile knobs and fixed dims are; other dims and
/// run knobs come from the arguments.
enum class KernelMode : uint8_t { kBaked, kPack };

struct KernelRequest {
  TemplateId template_id;
  KernelMode mode;
  std::vector<int32_t> dims;   ///< kBaked only
  std::vector<int32_t> knobs;  ///< one value per knob; run knobs are ignored in kPack
  std::string symbol;
  FixedDims fixed = {};  ///< kPack: what all workloads that the kernel will serve share (schedules/fixed_dims.h)
};

struct ObjectFile {
  std::vector<uint8_t> bytes;  ///< relocatable ELF
  uint32_t code_bytes = 0;     ///< .text and constants
};

/// One object with a function per request. TEMPER_UNSUPPORTED with the legality reason when a schedule primitive
/// refuses.
Result<ObjectFile> compile_kernels(const Target& target, const std::vector<KernelRequest>& requests);

/// Ahead of time: an object that also defines `NAME_pack` (a temper_pack, with the data and kernel table it points to),
/// linkable into firmware. NAME is a C identifier.
Result<ObjectFile> compile_pack(const Target& target, const std::string& name, const std::vector<uint8_t>& pack_data,
                                const std::vector<KernelRequest>& kernels);

/// Links objects into this process (ORC). Kernels stay valid until the loader is destroyed.
class KernelLoader {
 public:
  static Result<KernelLoader> create();
  KernelLoader(KernelLoader&&) noexcept;
  KernelLoader& operator=(KernelLoader&&) noexcept;
  ~KernelLoader();
  /// Symbols of different objects may repeat. unload frees the code again.
  Result<temper_kernel> load(const std::vector<uint8_t>& object, const std::string& symbol, uint32_t* handle);
  void unload(uint32_t handle);

 private:
  struct State;
  explicit KernelLoader(State* state);
  State* state_;
};

}  // namespace temper
