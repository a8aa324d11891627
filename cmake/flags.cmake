# Warnings and hardening (the flag list of the project); sanitizer builds drop FORTIFY and
# auto-initialisation because they mask findings.
set(RETAKE_WARNINGS -Wall -Wextra -Wformat=2 -Wconversion -Wsign-conversion -Wvla -Walloca
    -Wshadow -Wstrict-prototypes -Wmissing-prototypes
    -Werror=implicit -Werror=format-security)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  list(APPEND RETAKE_WARNINGS -Wtrampolines)
endif()
if(CMAKE_C_COMPILER_ID MATCHES "Clang")
  # Only the fuzz preset uses clang: loops tuned for gcc need not vectorise there, and it does not see
  # that a va_list wrapper got its format from a checked caller.
  list(APPEND RETAKE_WARNINGS -Wno-pass-failed -Wno-format-nonliteral)
endif()
if(RETAKE_WERROR)
  list(APPEND RETAKE_WARNINGS -Werror)
endif()

add_compile_definitions(_POSIX_C_SOURCE=200809L _XOPEN_SOURCE=700)
add_compile_options(-ffp-contract=off -fno-strict-overflow -fno-delete-null-pointer-checks)
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_C_FLAGS_DEBUG "-O1 -g")
set(RETAKE_LINK_OPTIONS)

if(RETAKE_SANITIZE)
  add_compile_options(-g -fno-omit-frame-pointer -fsanitize=${RETAKE_SANITIZE}
                      -fno-sanitize-recover=all)
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    # Cutting text to its buffer is what these calls are for; gcc warns about it only without FORTIFY.
    add_compile_options(-Wno-format-truncation)
  endif()
  add_link_options(-fsanitize=${RETAKE_SANITIZE})
elseif(RETAKE_FUZZ)
  add_compile_options(-g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
else()
  add_compile_options(-fstack-protector-strong -fstack-clash-protection)
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-ftrivial-auto-var-init=zero)
  endif()
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64")
    add_compile_options(-fcf-protection=full)
  endif()
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
  endif()
  set(RETAKE_LINK_OPTIONS -pie -Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code)
endif()
