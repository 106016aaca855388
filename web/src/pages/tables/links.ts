/** A table's own address. */
export function tablePath(name: string): string {
  return `/tables/${encodeURIComponent(name)}`;
}
