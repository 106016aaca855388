/** A log record as a terminal shows it: time, process, message, and the fields that matter. */
export interface LogRecord {
  readonly level: number;
  readonly time: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

const levelNames: Readonly<Record<number, string>> = {
  20: "debug",
  30: "info",
  40: "warn",
  50: "error",
};
const colours: Readonly<Record<string, string>> = {
  debug: "2",
  info: "36",
  warn: "33",
  error: "31",
};
const plumbing = new Set(["level", "time", "msg", "pid", "process", "stack"]);

/** Undefined when the line is not a log record; it should be shown unchanged. */
export function parseRecord(line: string): LogRecord | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    const value = JSON.parse(line) as Partial<LogRecord>;
    const { level, time, msg } = value;
    if (typeof level !== "number" || typeof time !== "number" || typeof msg !== "string") {
      return undefined;
    }
    return { ...value, level, time, msg };
  } catch {
    return undefined;
  }
}

export function formatShortLine(record: LogRecord, colour: boolean): string {
  const level = levelNames[record.level] ?? "info";
  const time = new Date(record.time).toTimeString().slice(0, 8);
  const fields = Object.entries(record)
    .filter(([name, value]) => !plumbing.has(name) && value !== undefined && value !== "")
    .map(([name, value]) => `${name}=${fieldText(value)}`)
    .join(" ");
  const who = String(record.process ?? "capstan");
  const paint = (code: string, text: string): string =>
    colour && text !== "" ? `\u001b[${code}m${text}\u001b[0m` : text;
  const head = `${paint("2", time)} ${paint(colours[level] ?? "0", level.padEnd(5))} ${who}: ${record.msg}`;
  const stack = typeof record.stack === "string" ? `\n${record.stack}` : "";
  return `${head}${fields === "" ? "" : ` ${paint("2", fields)}`}${stack}`;
}

function fieldText(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return /[\s"=]/.test(text) ? JSON.stringify(text) : text;
}
