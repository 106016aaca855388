/**
 * A dynamic table's name as one text: `revenue`, `sales.revenue`, `"odd.name"`. It is the key of
 * the table's row in the store, so it is unique.
 */
export const defaultSchema = "main";

export function formatTableName(schema: string, name: string): string {
  const own = quoted(name);
  return schema === defaultSchema ? own : `${quoted(schema)}.${own}`;
}

function quoted(part: string): string {
  return /^[^".\s]+$/.test(part) ? part : `"${part.replaceAll('"', '""')}"`;
}
