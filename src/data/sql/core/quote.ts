/** Quotes names and texts for DuckDB. */

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
