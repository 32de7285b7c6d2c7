# What a package installs besides the program: units of systemd, completions and licences; the Debian package (make deb);
# and the descriptions of the npm package (make npm).
install(FILES packaging/fumi.service DESTINATION lib/systemd/system COMPONENT program)
install(FILES packaging/fumi-user.service DESTINATION lib/systemd/user RENAME fumi.service COMPONENT program)
install(FILES LICENSE DESTINATION share/doc/fumi RENAME copyright COMPONENT program)
set(contained libutf8proc-dev) # packages of the libraries that the program contains
if(FUMI_STATIC)
  list(APPEND contained libsqlite3-dev libssl-dev libstemmer-dev libuv1-dev zlib1g-dev)
  install(FILES /usr/share/common-licenses/Apache-2.0 DESTINATION share/doc/fumi/licences COMPONENT program)
endif()
foreach(package ${contained})
  install(FILES /usr/share/doc/${package}/copyright DESTINATION share/doc/fumi/licences RENAME ${package}
    COMPONENT program OPTIONAL)
endforeach()
# Debian's zsh reads site-functions only below /usr/local. The directory is chosen at installation, when the prefix is known.
install(CODE [[
  set(zsh site-functions)
  if(CMAKE_INSTALL_PREFIX MATCHES "/usr$")
    set(zsh vendor-completions)
  endif()
]] COMPONENT program)
foreach(completion "bash share/bash-completion/completions/fumi" "zsh share/zsh/\${zsh}/_fumi"
    "fish share/fish/vendor_completions.d/fumi.fish")
  separate_arguments(completion)
  list(GET completion 0 shell)
  list(GET completion 1 path)
  get_filename_component(dir ${path} DIRECTORY)
  get_filename_component(name ${path} NAME)
  set(file ${CMAKE_BINARY_DIR}/packaging/${shell})
  add_custom_command(OUTPUT ${file} COMMAND fumi-bin completion ${shell} > ${file} DEPENDS fumi-bin VERBATIM)
  list(APPEND completions ${file})
  install(FILES ${file} DESTINATION ${dir} RENAME ${name} COMPONENT program)
endforeach()
add_custom_target(completions ALL DEPENDS ${completions})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME fumi)
set(CPACK_PACKAGE_CONTACT "Fumi maintainers <maintainers@fumi.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "long-term memory for AI agents, in one program")
set(CPACK_COMPONENTS_ALL program)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME fumi)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(control ${CMAKE_SOURCE_DIR}/packaging/debian)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_EXTRA "${control}/postinst;${control}/prerm;${control}/postrm")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libcurl4, libpq5") # loaded when a remote embedder or PostgreSQL is used
set(CPACK_DEBIAN_PACKAGE_SUGGESTS xdg-utils) # fumi open runs xdg-open
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
include(CPack)

configure_file(packaging/npm/package.json.in npm/package.json @ONLY)
configure_file(packaging/npm/server.json.in npm/server.json @ONLY)
