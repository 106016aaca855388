/** Names and texts as DuckDB reads them back, whatever is in them. */

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
