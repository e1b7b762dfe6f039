# find_package(volley) gives the target volley::volley. Its interface is C, so it needs nothing else.
include("${CMAKE_CURRENT_LIST_DIR}/volleyTargets.cmake")
