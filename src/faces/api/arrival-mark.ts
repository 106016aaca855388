/** The mark of a page that a link of another site led to. `web/src/arrival.ts` reads it. */

/** Whether another site's link led here, as browsers say. */
export function isFromElsewhere(site: string | readonly string[] | undefined): boolean {
  return site !== undefined && site !== "same-origin" && site !== "none";
}

/** AP12: so that the page runs no query that is in its address before somebody asks for it. */
export function markedPage(html: string): string {
  return html.replace("<title>", '<meta name="capstan-arrival" content="elsewhere" /><title>');
}
