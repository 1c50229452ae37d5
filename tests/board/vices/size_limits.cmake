# Limits that no firmware keeps: shows that report_size.cmake notices growth.
set(limit_core_flash 1000)
set(limit_kernels_flash 0)
set(limit_pack_data_flash 0)
set(limit_core_ram 0)
