/** A command line to copy. */
import { CopyIcon } from "./copy-icon.tsx";

export function Command({ text }: { readonly text: string }) {
  return (
    <span className="command">
      <code className="mono truncate">{text}</code>
      <CopyIcon title={text} text={text} />
    </span>
  );
}
