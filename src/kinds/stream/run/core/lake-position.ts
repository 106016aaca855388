/** How far a Lake source has read: the text of its position in checkpoints. Pure. */

/**
 * The rows of the table at `to` are being read, or, with `from`, those that were added after it.
 * They come in the order of their ids, and `rowId` is the last one that was given on. All numbers
 * are the lake's.
 */
export interface LakePosition {
  readonly table: number;
  readonly from: number | null;
  readonly to: number | null;
  readonly rowId: number | null;
}

export function parseLakePosition(text: string): LakePosition {
  return JSON.parse(text) as LakePosition;
}

/** The snapshot that must not expire for the source to go on from there. */
export function pinOf(
  position: string | undefined,
): { readonly table: number; readonly snapshot: number } | undefined {
  if (position === undefined) return undefined;
  const { table, from, to } = parseLakePosition(position);
  const snapshot = from ?? to;
  return snapshot === null ? undefined : { table, snapshot };
}
