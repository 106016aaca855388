import { useState } from "react";
import { useSearchParams } from "react-router";

/**
 * A list's view, kept in the address, so that it can be bookmarked and shared. Fields show a copy:
 * the router changes the address a moment later, and fast typing must not lose letters.
 */
export function useAddressView<View extends object>(
  viewOf: (search: URLSearchParams) => View,
  searchOf: (view: View) => Record<string, string>,
): readonly [View, (change: Partial<View>) => void] {
  const [search, setSearch] = useSearchParams();
  const [view, setView] = useState(() => viewOf(search));
  const change = (changes: Partial<View>): void => {
    const next = { ...view, ...changes };
    setView(next);
    setSearch(searchOf(next), { replace: true });
  };
  return [view, change];
}
