/** Keeps every line that was logged, with all its fields. */
import type { LogFields, Logger } from "../logger.ts";

export interface RecordedLine {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly fields: LogFields;
  readonly message: string;
}

export function recordingLogger(lines: RecordedLine[], always: LogFields = {}): Logger {
  const at =
    (level: RecordedLine["level"]) =>
    (fields: LogFields, message: string): void => {
      lines.push({ level, fields: { ...always, ...fields }, message });
    };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    with: (fields) => recordingLogger(lines, { ...always, ...fields }),
  };
}
