/** A text to copy: a statement, for example. */
import { CopyIcon } from "./copy-icon.tsx";

interface CodeBlockProps {
  /** What the text is, for the button that copies it. */
  readonly title: string;
  readonly text: string;
}

export function CodeBlock({ title, text }: CodeBlockProps) {
  return (
    <div className="code-block">
      <pre className="mono">{text}</pre>
      <CopyIcon title={title} text={text} />
    </div>
  );
}
