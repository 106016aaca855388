/** A button that copies a text. */
import { ActionIcon, CopyButton } from "@mantine/core";
import { IconCheck, IconCopy } from "@tabler/icons-react";

interface CopyIconProps {
  /** What the text is, for those who cannot see it. */
  readonly title: string;
  readonly text: string;
}

export function CopyIcon({ title, text }: CopyIconProps) {
  return (
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
  );
}
