/** Parses JSON and keeps the digits of numbers: a BIGINT or DECIMAL may not fit a double. */
export class ExactNumber {
  readonly digits: string;

  constructor(digits: string) {
    this.digits = digits;
  }

  toJSON(): unknown {
    return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(this.digits);
  }
}

export function parseExactJson(text: string): unknown {
  return JSON.parse(text, (_key: string, value: unknown, context?: { source?: string }) =>
    typeof value === "number" && context?.source !== undefined
      ? new ExactNumber(context.source)
      : value,
  );
}

/** A cell as text: strings unchanged, NULL as given, nested values as JSON. */
export function cellText(value: unknown, nullText: string): string {
  if (value === null || value === undefined) return nullText;
  if (typeof value === "string") return value;
  if (value instanceof ExactNumber) return value.digits;
  return JSON.stringify(value);
}
