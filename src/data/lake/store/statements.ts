/** Helpers for statements with many rows or ids. SQLite allows 32,766 parameters in a statement. */
const rowsPerStatement = 1_000;
const idsPerStatement = 10_000;

export async function inChunksOf<T>(
  items: readonly T[],
  size: number,
  run: (chunk: readonly T[]) => Promise<unknown>,
): Promise<void> {
  for (let start = 0; start < items.length; start += size) {
    await run(items.length <= size ? items : items.slice(start, start + size));
  }
}

export function eachRows<T>(
  rows: readonly T[],
  run: (chunk: readonly T[]) => Promise<unknown>,
): Promise<void> {
  return inChunksOf(rows, rowsPerStatement, run);
}

export function eachIds(
  ids: readonly number[],
  run: (chunk: readonly number[]) => Promise<unknown>,
): Promise<void> {
  return inChunksOf(ids, idsPerStatement, run);
}

/** The rows of all chunks. */
export async function selectByIds<R>(
  ids: readonly number[],
  select: (chunk: readonly number[]) => Promise<readonly R[]>,
): Promise<R[]> {
  const rows: R[] = [];
  await eachIds(ids, async (chunk) => {
    rows.push(...(await select(chunk)));
  });
  return rows;
}
