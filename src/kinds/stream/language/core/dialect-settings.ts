/**
 * Where the dialect's own behaviour and a person's defaults differ. Whoever brings statements from
 * NebulaStream, as its suite is, has `suiteDialect`; everybody else has `defaultDialect`.
 */
import type { Settings } from "./plan.ts";

export interface DialectSettings {
  /** Defaults that go before those of the descriptors. */
  readonly inputFormat: Settings;
  readonly outputFormat: Settings;
  readonly query: Settings;
}

export const defaultDialect: DialectSettings = { inputFormat: {}, outputFormat: {}, query: {} };

export const suiteDialect: DialectSettings = {
  inputFormat: { QUOTES: "keep", ON_MALFORMED: "null" },
  outputFormat: { NAMES: "upper", FLOATS: "fixed", QUOTE_STRINGS: "true" },
  query: { LATE: "fail", BUFFER_SIZE: 4096 },
};

/** What `--stream-dialect` chooses from. */
export const dialects = { capstan: defaultDialect, nebulastream: suiteDialect } as const;

export type DialectName = keyof typeof dialects;

/** `operator_buffer_size` of the suite. */
export function withBufferSize(dialect: DialectSettings, bytes: number): DialectSettings {
  return { ...dialect, query: { ...dialect.query, BUFFER_SIZE: bytes } };
}
