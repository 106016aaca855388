/** A text to copy: a statement, for example. */
import { ActionIcon, CopyButton } from "@mantine/core";
import { IconCheck, IconCopy } from "@tabler/icons-react";

interface CodeBlockProps {
  /** What it is, for the button that copies it. */
  readonly title: string;
  readonly text: string;
}

export function CodeBlock({ title, text }: CodeBlockProps) {
  return (
    <div className="code-block">
      <pre className="mono">{text}</pre>
      <CopyButton value={text}>
        {({ copied, copy }) => (
          <ActionIcon
            size="sm"
            variant="subtle"
            color="gray"
            aria-label={copied ? "Copied" : `Copy: ${title}`}
            onClick={copy}
          >
            {copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
          </ActionIcon>
        )}
      </CopyButton>
    </div>
  );
}
