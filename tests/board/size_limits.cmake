# What the first-boot firmware may take, part by part in bytes, and its longest step that calls no kernel in instructions
# (25,000 are one millisecond at 25 MHz): what was measured and about a tenth more.
# A limit is raised in the commit that needs it, which says why.
set(limit_core_flash 28300)  # of them 650 to confirm earlier results, 200 the order of sources, each with its reason, and 770 for faults and telling of them
set(limit_kernels_flash 65536)  # what the pack was chosen for: selection fills it where that pays
set(limit_pack_data_flash 10000)
set(limit_core_ram 0)  # all of the core's memory is the caller's
set(limit_arena 11000)
set(limit_stack 1024)  # of program, core and kernels, interrupts included: 840 to 920 measured, 1 KiB is promised
set(limit_stack_without_kernels 900)  # 784 to 824 measured
set(limit_search_step 24100)

# What the profiles of the core may take in flash on a 32-bit target, without kernels, packs and the C library (./sizes), and the arena of
# a tuner that remembers 64 trials of a workload with 32 knobs and programs of 255 instructions: what was measured, rounded up. On a 64-bit
# target the figure of its own (_64), else twice that. `wanted`: what the project set out for, where it named a figure, twice that on 64 bits;
# the report tells where it is not met.
set(limit_lookup_flash 3072)
set(wanted_lookup_flash 3072)
set(limit_tuner_flash 23700)  # of them 650 to confirm what was found at another clock or elsewhere, 2,000 the two regions of flash and their compaction: what was learned is never lost
set(limit_tuner_flash_64 38200)
set(wanted_tuner_flash 12288)
set(limit_learning_flash 26800)  # of them 770 to borrow from other shapes
set(limit_learning_flash_64 42700)
set(limit_arena_32_knobs 4096)
