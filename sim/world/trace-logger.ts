/** Log lines as part of the trace, when somebody reads it. */
import { type LogFields, type Logger, silentLogger } from "../../src/ground/kernel/logger.ts";
import type { Trace } from "../engine/trace.ts";

export function traceLogger(trace: Trace, name: string): Logger {
  if (!trace.printing) return silentLogger;
  const write = (level: string, fields: LogFields, message: string): void => {
    const shown = Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => `${key}=${value}`);
    trace.say(`${name} ${level} ${message} ${shown.join(" ")}`);
  };
  const logger: Logger = {
    debug: (fields, message) => write("debug", fields, message),
    info: (fields, message) => write("info", fields, message),
    warn: (fields, message) => write("warn", fields, message),
    error: (fields, message) => write("error", fields, message),
    with: (fields) => ({
      ...logger,
      debug: (more, message) => write("debug", { ...fields, ...more }, message),
      info: (more, message) => write("info", { ...fields, ...more }, message),
      warn: (more, message) => write("warn", { ...fields, ...more }, message),
      error: (more, message) => write("error", { ...fields, ...more }, message),
    }),
  };
  return logger;
}
