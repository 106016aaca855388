import { type ListPage, readJson } from "./http.ts";

/** All pages of a list. */
export async function readAll<T>(
  path: string,
  signal: AbortSignal,
  onPage: (page: ListPage<T>) => void = () => undefined,
): Promise<readonly T[]> {
  const items: T[] = [];
  let token: string | null = "";
  while (token !== null) {
    const after: string = token === "" ? "" : `&page_token=${encodeURIComponent(token)}`;
    const page: ListPage<T> = await readJson(`${path}?limit=500${after}`, { signal });
    onPage(page);
    items.push(...page.items);
    token = page.next_page_token;
  }
  return items;
}
