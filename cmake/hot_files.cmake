# Files whose speed is the speed of the CPU backend.
# 1. The blending and loss loops stay scalar under strict IEEE rules; these files, and only these, may
#    assume that values are finite (they are checked before and after). See architecture.md section 3.
# 2. Files that wrap their functions in RT_VARIANT() (render/core/variant.h) are compiled once per
#    x86-64 level and picked by CPUID; elsewhere they are built once like any other file.
set(RETAKE_FINITE_FLAGS -O3 -fno-trapping-math -fno-signed-zeros -ffinite-math-only -fno-math-errno)
if(RETAKE_SANITIZE)
  list(REMOVE_ITEM RETAKE_FINITE_FLAGS -O3)
endif()

# retake_hot_files(library "flags" file...): compiles the files of `library` with the extra flags.
function(retake_hot_files library flags)
  foreach(hot ${ARGN})
    file(STRINGS ${PROJECT_SOURCE_DIR}/${hot} variant REGEX "RT_VARIANT\\(" LIMIT_COUNT 1)
    if(NOT (variant AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64"))
      set_source_files_properties(${PROJECT_SOURCE_DIR}/${hot} PROPERTIES COMPILE_OPTIONS "${flags}")
      continue()
    endif()
    set_source_files_properties(${PROJECT_SOURCE_DIR}/${hot} PROPERTIES HEADER_FILE_ONLY ON)
    string(MAKE_C_IDENTIFIER ${hot} stem)
    foreach(level 2 3 4)
      # A one-line copy per level, because one target cannot compile one file three times.
      set(copy ${PROJECT_BINARY_DIR}/hot/${stem}_v${level}.c)
      file(CONFIGURE OUTPUT ${copy} CONTENT "#include \"${hot}\"\n")
      target_sources(${library} PRIVATE ${copy})
      set(options ${flags} -march=x86-64-v${level})
      if(level EQUAL 4)
        list(APPEND options -mprefer-vector-width=512)
      endif()
      set_source_files_properties(${copy} PROPERTIES COMPILE_OPTIONS "${options}"
        COMPILE_DEFINITIONS RT_VARIANT_SUFFIX=_v${level} OBJECT_DEPENDS ${PROJECT_SOURCE_DIR}/${hot})
    endforeach()
  endforeach()
endfunction()

file(GLOB hot CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} render/cpu/composite*.c)
retake_hot_files(retake_cpu "${RETAKE_FINITE_FLAGS}" ${hot})
retake_hot_files(retake_cpu "-fno-math-errno;-fno-trapping-math" render/cpu/project.c
                 render/cpu/intersect.c render/cpu/project_backward.c)
file(GLOB hot CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} recon/cpu/loss.c)
retake_hot_files(retake_recon "${RETAKE_FINITE_FLAGS}" ${hot})
