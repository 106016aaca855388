/**
 * For a message that begins with `line:column:`, shows the line of the query with a mark at that
 * column.
 */
export function pointAtError(query: string, message: string): string {
  const place = /(\d+):(\d+): parse error/.exec(message);
  if (place === null) return message;
  const line = query.split("\n")[Number(place[1]) - 1];
  if (line === undefined) return message;
  // Columns count bytes; the mark has to count characters.
  const before = Buffer.from(line)
    .subarray(0, Number(place[2]) - 1)
    .toString();
  const start = Math.max(0, before.length - 60);
  const shown = line.slice(start, before.length + 40);
  return `${message}\n${shown}\n${" ".repeat(before.length - start)}^`;
}
