# The README shows the example application as it is. Variables: README, EXAMPLE.
file(READ ${README} readme)
file(READ ${EXAMPLE} example)
string(STRIP "${example}" example)
string(FIND "${readme}" "${example}" at)
if(at LESS 0)
  message(FATAL_ERROR "README.md does not hold the text of ${EXAMPLE}: copy it there")
endif()
