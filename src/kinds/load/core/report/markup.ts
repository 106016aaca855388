/** HTML by tagged template: whatever is put in is escaped, unless it was made by one itself. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Piece = string | number | Markup | readonly Piece[];

export function html(texts: TemplateStringsArray, ...pieces: readonly Piece[]): Markup {
  return new Markup(
    texts.map((text, at) => (at === 0 ? text : `${render(pieces[at - 1] ?? "")}${text}`)).join(""),
  );
}

function render(piece: Piece): string {
  if (piece instanceof Markup) return piece.text;
  if (typeof piece === "number") return Number.isInteger(piece) ? `${piece}` : piece.toFixed(1);
  return typeof piece === "string" ? escaped(piece) : piece.map(render).join("");
}

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}
