/** The kernel's `Logger` on pino: JSON lines, or short lines at a terminal, always scrubbed. */
import { type Logger as PinoLogger, pino } from "pino";
import type { LogFields, Logger } from "../kernel/logger.ts";
import type { Scrubber } from "./scrub.ts";
import { formatShortLine, parseRecord } from "./short-line.ts";

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

export interface LoggerConfig {
  /** The name of the process: `coordinator`, `worker-1`. */
  readonly process: string;
  readonly level: LogLevel;
  readonly format: "json" | "short";
  readonly colour: boolean;
  readonly scrubber: Scrubber;
  /** Where lines go; the process's standard output unless given. */
  readonly write?: (line: string) => void;
}

export function createPinoLogger(config: LoggerConfig): Logger {
  const write = config.write;
  // Synchronous, so that the line that says why the process ends is written before it ends.
  const destination = write === undefined ? pino.destination({ fd: 1, sync: true }) : { write };
  const root = pino(
    {
      level: config.level,
      base: { process: config.process, pid: process.pid },
      hooks: { streamWrite: (line) => present(line, config) },
    },
    destination,
  );
  return adapt(root);
}

function present(line: string, config: LoggerConfig): string {
  const clean = config.scrubber.scrub(line);
  if (config.format === "json") return clean;
  const record = parseRecord(clean);
  return record === undefined ? clean : `${formatShortLine(record, config.colour)}\n`;
}

function adapt(log: PinoLogger): Logger {
  return {
    debug: (fields: LogFields, message: string) => log.debug(fields, message),
    info: (fields: LogFields, message: string) => log.info(fields, message),
    warn: (fields: LogFields, message: string) => log.warn(fields, message),
    error: (fields: LogFields, message: string) => log.error(fields, message),
    with: (fields: LogFields) => adapt(log.child(fields)),
  };
}
