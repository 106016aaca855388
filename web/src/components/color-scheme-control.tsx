/** Light, dark, or the system's scheme; remembered in this browser. */
import {
  type MantineColorScheme,
  SegmentedControl,
  useComputedColorScheme,
  useMantineColorScheme,
  VisuallyHidden,
} from "@mantine/core";
import { IconDeviceDesktop, IconMoon, IconSun } from "@tabler/icons-react";
import type { ReactNode } from "react";

const options: readonly { value: MantineColorScheme; label: ReactNode }[] = [
  { value: "auto", label: <Option icon={<IconDeviceDesktop size={15} />} name="As the system" /> },
  { value: "light", label: <Option icon={<IconSun size={15} />} name="Light" /> },
  { value: "dark", label: <Option icon={<IconMoon size={15} />} name="Dark" /> },
];

export function ColorSchemeControl() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <SegmentedControl
      size="xs"
      fullWidth
      aria-label="Colour scheme"
      data={[...options]}
      value={colorScheme}
      onChange={(value) => setColorScheme(value as MantineColorScheme)}
    />
  );
}

export function useColorSchemeToggle(): () => void {
  const { setColorScheme } = useMantineColorScheme();
  const shown = useComputedColorScheme("light");
  return () => setColorScheme(shown === "dark" ? "light" : "dark");
}

function Option({ icon, name }: { readonly icon: ReactNode; readonly name: string }) {
  return (
    <span className="scheme-option" title={name}>
      {icon}
      <VisuallyHidden>{name}</VisuallyHidden>
    </span>
  );
}
