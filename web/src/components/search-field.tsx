/** The field that filters a list; the key `/` focuses it. */
import { TextInput } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";

interface SearchFieldProps {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  readonly onText: (text: string) => void;
}

export function SearchField({ label, placeholder, value, onText }: SearchFieldProps) {
  return (
    <TextInput
      size="xs"
      aria-label={label}
      placeholder={placeholder}
      leftSection={<IconSearch size={14} />}
      data-main-field
      value={value}
      onChange={(event) => onText(event.currentTarget.value)}
    />
  );
}
