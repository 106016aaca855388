/**
 * Settings that NebulaStream has and that mean nothing here, because they tune its engine: they are
 * accepted and ignored, so that its statements run as they are. Its other spellings are translated.
 */
import type { SectionSetting } from "./read-settings.ts";

const ignored: ReadonlySet<string> = new Set([
  ...["SOURCE.MAX_INFLIGHT_BUFFERS", "SOURCE.FLUSH_INTERVAL_MS", "SOURCE.SOCKET_DOMAIN"],
  ...["SOURCE.SOCKET_TYPE", "SOURCE.SOCKET_BUFFER_SIZE", "SOURCE.CONNECT_TIMEOUT_SECONDS"],
  ...["SINK.BACKPRESSURE_UPPER_THRESHOLD", "SINK.BACKPRESSURE_LOWER_THRESHOLD"],
]);

const spellings: ReadonlyMap<string, string> = new Map([
  ["SOURCE.HOST", "PLACEMENT"],
  ["SINK.HOST", "PLACEMENT"],
]);

/** A Void sink writes nothing, so how and where mean nothing. */
const ignoredByVoid: ReadonlySet<string> = new Set([
  ...["SINK.FILE_PATH", "SINK.OUTPUT_FORMAT", "SINK.INPUT_FORMAT"],
]);

/** The settings of a source or sink of this type as our descriptors know them. */
export function withoutForeign(
  given: readonly SectionSetting[],
  type: string,
): readonly SectionSetting[] {
  return given.flatMap((one) => {
    const name = `${one.section}.${one.key}`;
    if (ignored.has(name) || (type === "Void" && ignoredByVoid.has(name))) return [];
    const key = spellings.get(name);
    if (key !== undefined) return [{ ...one, key }];
    return type === "Generator" ? rateOf(one) : [one];
  });
}

/** `'FIXED' AS GENERATOR_RATE_TYPE` and `'emit_rate 1000' AS GENERATOR_RATE_CONFIG`. */
function rateOf(one: SectionSetting): readonly SectionSetting[] {
  const { value } = one.setting;
  const text = value.kind === "text" ? value.value : "";
  if (one.key === "GENERATOR_RATE_TYPE" && text.toUpperCase() === "FIXED") return [];
  const rate = /^\s*emit_rate\s+(\d+)\s*$/i.exec(text)?.[1];
  if (one.key !== "GENERATOR_RATE_CONFIG" || rate === undefined) return [one];
  const setting = { ...one.setting, value: { kind: "number", text: rate } as const };
  return [{ ...one, key: "ROWS_PER_SECOND", setting }];
}
