/**
 * Whether a link of another site opened the page (AP12); the server marks such a request. The link
 * chooses what the page shows, so it must not choose what the cluster computes: queries in the
 * address, and rows of a table, wait for a click.
 */
let heldPath =
  document.querySelector('meta[name="capstan-arrival"][content="elsewhere"]') === null
    ? undefined
    : location.pathname;

/** Called on mount: whether a part of the page has to wait for a click before it computes. */
export function isHeldBack(): boolean {
  return location.pathname === heldPath;
}

/** The user has asked for it. */
export function release(): void {
  heldPath = undefined;
}
