# Gives a target of the project its warnings, sanitizers and include root. What is generated does not get it.
function(redoubt_target target)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  target_compile_options(
    ${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
                      -Wold-style-cast -Woverloaded-virtual -fno-omit-frame-pointer)
  # GCC 12 warns of strings that overlap themselves where none do (its bug 105651).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
  # Instrumented code moves variants in ways that it takes for uses of what was never set.
  if(REDOUBT_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
  endif()
  if(REDOUBT_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

# A header that users include as <redoubt/name>. Inside the tree that is a line which includes it where it lives;
# installed, it is the header itself.
function(redoubt_public_header target header name)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/include/redoubt/${name} CONTENT "#include \"${header}\"\n" @ONLY)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>)
  install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/redoubt RENAME ${name})
endfunction()

# The same for headers that keep their names.
function(redoubt_public_headers target)
  foreach(header ${ARGN})
    get_filename_component(name ${header} NAME)
    redoubt_public_header(${target} ${header} ${name})
  endforeach()
endfunction()

# For the whole tree: the generated protobuf code must be instrumented too.
add_compile_definitions($<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)
if(REDOUBT_SANITIZE)
  add_compile_options(-fsanitize=${REDOUBT_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${REDOUBT_SANITIZE})
  if(REDOUBT_SANITIZE MATCHES "thread")
    # The sanitizer does not model fences; Asio then locks instead.
    add_compile_definitions(ASIO_DISABLE_FENCED_BLOCK)
  endif()
endif()
