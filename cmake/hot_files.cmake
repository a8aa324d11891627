# The blending and loss loops stay scalar under strict IEEE rules; these files, and only these, may
# assume that values are finite (they are checked before and after). See architecture.md section 3.
file(GLOB hot CONFIGURE_DEPENDS render/cpu/composite*.c recon/cpu/loss.c)
set_source_files_properties(${hot} PROPERTIES COMPILE_OPTIONS
  "-O3;-fno-trapping-math;-fno-signed-zeros;-ffinite-math-only;-fno-math-errno")
