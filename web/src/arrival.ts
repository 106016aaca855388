/**
 * Whether the page was opened by a link of another site (AP12): the server marks it then. Such a link
 * chooses what the page shows, and so must not choose what the cluster computes: queries in the
 * address, and rows of a table, wait for a click.
 */
let heldPath =
  document.querySelector('meta[name="capstan-arrival"][content="elsewhere"]') === null
    ? undefined
    : location.pathname;

/** Asked when a part of the page is mounted: whether what it would compute by itself has to wait. */
export function isHeldBack(): boolean {
  return location.pathname === heldPath;
}

/** Somebody has asked for it. */
export function release(): void {
  heldPath = undefined;
}
