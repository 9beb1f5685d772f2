// Stands in for CUPTI where its profiler does not start: it says what a test tells it to.
extern "C" {

int fake_cupti_result = 0;  // CUptiResult

int cuptiProfilerInitialize(void* /*params*/) {
  return fake_cupti_result;
}

int cuptiGetResultString(int result, const char** text) {
  *text = result == 35 ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : "CUPTI_ERROR_OTHER";
  return 0;
}

int cuptiGetErrorMessage(int result, const char** text) {
  if (result == 35) {
    *text = "more permission is needed";
    return 0;
  }
  return cuptiGetResultString(result, text);  // no more to say
}
}
