/** Posts a thread's log lines to the process, which has the one logger. */
import type { LogFields, Logger } from "../../../../ground/kernel/logger.ts";
import type { LogLevel, LogMessage } from "./ingest-messages.ts";

export function postingLogger(post: (message: LogMessage) => void, always: LogFields = {}): Logger {
  const write =
    (level: LogLevel) =>
    (fields: LogFields, message: string): void =>
      post({ level, fields: { ...always, ...fields }, message });
  return {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    with: (fields) => postingLogger(post, { ...always, ...fields }),
  };
}
