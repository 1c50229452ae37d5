# Installs temper into a scratch prefix and builds the example there as a project that knows nothing of this tree.
# cmake -DBUILD=... -DCONFIG=... -DSCRATCH=... -DSOURCE=... -DPACK=example_pack.o -P build_outside.cmake
cmake_minimum_required(VERSION 3.25)
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE printed ERROR_VARIABLE said)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nended with ${status}:\n${printed}${said}")
  endif()
endfunction()
file(REMOVE_RECURSE ${SCRATCH})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix --config ${CONFIG})
file(MAKE_DIRECTORY ${SCRATCH}/project)
file(COPY ${SOURCE}/example_app.c ${PACK} DESTINATION ${SCRATCH}/project)
file(COPY ${SOURCE}/outside/CMakeLists.txt DESTINATION ${SCRATCH}/project)
run(${CMAKE_COMMAND} -S ${SCRATCH}/project -B ${SCRATCH}/build -G Ninja -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix
    -DCMAKE_BUILD_TYPE=Release "-DCMAKE_C_FLAGS=${C_FLAGS}" "-DCMAKE_CXX_FLAGS=${C_FLAGS}")
run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
run(${SCRATCH}/build/example_app ${SCRATCH}/example.history)
