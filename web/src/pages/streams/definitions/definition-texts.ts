/** Definitions as short texts. Pure. */
import type { StreamField, StreamSink } from "../../../api/gen/types.ts";

/** `ts UINT64 NOT NULL, auction UINT64` */
export function schemaText(schema: readonly StreamField[]): string {
  return schema
    .map(({ name, type }) => `${name} ${type.name}${type.nullable ? "" : " NOT NULL"}`)
    .join(", ");
}

/** `ROWS_PER_SECOND = 20000, TABLE = 'hot'` */
export function settingsText(settings: StreamSink["config"]): string {
  return Object.entries(settings)
    .map(([key, value]) => `${key} = ${shown(value)}`)
    .join(", ");
}

/** Texts in quotes: some are a comma, or the end of a line. */
function shown(value: string | number | boolean): string {
  return typeof value === "string" ? `'${value.replaceAll("\n", "\\n")}'` : String(value);
}
