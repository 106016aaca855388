/** Marks a page that was reached by a link on another site. `web/src/arrival.ts` reads the mark. */

/** Whether the browser says that a link on another site led here. */
export function isFromElsewhere(site: string | readonly string[] | undefined): boolean {
  return site !== undefined && site !== "same-origin" && site !== "none";
}

/** Keeps the page from running a query in its address before somebody asks for it (AP12). */
export function markedPage(html: string): string {
  return html.replace("<title>", '<meta name="capstan-arrival" content="elsewhere" /><title>');
}
