/**
 * A dynamic table's name in one text: `revenue`, `sales.revenue`, `"odd.name"`. The store knows its row by it, so two tables never
 * have the same.
 */
export const defaultSchema = "main";

export function formatTableName(schema: string, name: string): string {
  const own = quoted(name);
  return schema === defaultSchema ? own : `${quoted(schema)}.${own}`;
}

function quoted(part: string): string {
  return /^[^".\s]+$/.test(part) ? part : `"${part.replaceAll('"', '""')}"`;
}
