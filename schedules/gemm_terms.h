// What the programs of kGemm share: dims, knobs and the quantities that follow from both. Included by the gemm_*.cc
// files alone.
#pragma once

#include "schedules/template_data.h"

namespace temper {

struct GemmDims {
  explicit GemmDims(ProgramBuilder& builder);
  Expr batch, m, n, k;
  Expr image_is_a, image_is_b, plain;
  Expr a_constant, b_constant;
  Expr a_k_stride, b_k_stride, b_n_stride;
};

struct GemmKnobs {
  explicit GemmKnobs(ProgramBuilder& builder);
  Expr tile_m, vectors, lanes, unroll_k, a, b, block_m, block_n, block_k, inner;
};

/// Sizes in elements of a chosen config.
struct GemmBlocks {
  GemmBlocks(const GemmDims& dims, const GemmKnobs& knobs);
  Expr tile_n;
  Expr padded_m, padded_n;  ///< whole extents in whole tiles
  Expr block_m, block_n, block_k;
  Expr m_blocks, n_blocks, k_blocks;
  Expr a_packed, b_packed;  ///< 1: packed per block into the workspace
  Expr grid, workspace_bytes;
};

/// Bytes of workspace that a config may ask for: twice the last private cache, within what a small board can spare.
Expr gemm_workspace_limit(const FactTerms& facts);

Result<ProgramData> gemm_constraint(ConstantPool* pool);
Result<ProgramData> gemm_defaults(ConstantPool* pool);
Result<ProgramData> gemm_shape(ConstantPool* pool);
Result<ProgramData> gemm_features(ConstantPool* pool);
Result<ProgramData> gemm_prior(ConstantPool* pool);

}  // namespace temper
