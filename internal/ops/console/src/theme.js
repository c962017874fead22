// Dark or light: as the system says, unless somebody chose.

const key = 'spillway.theme';

export const themes = ['system', 'light', 'dark'];

const remembered = (name) => {
  try {
    return localStorage.getItem(name);
  } catch {
    return null; // storage may be switched off
  }
};

const remember = (name, text) => {
  try {
    localStorage.setItem(name, text);
  } catch {
    // then it is for this page only
  }
};

export function theme() {
  const t = remembered(key);
  return themes.includes(t) ? t : 'system';
}

export function choose(t) {
  remember(key, t);
  show(t);
}

/** Shows a theme, and tells those who draw with colours of their own. */
export function show(t) {
  if (t === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = t;
  dispatchEvent(new Event('theme'));
}

/** A colour of the style sheet as it is now. */
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => dispatchEvent(new Event('theme')));

/** Single keys as shortcuts: on, unless somebody switched them off. */
export const shortcuts = () => remembered('spillway.keys') !== 'off';
export const setShortcuts = (on) => remember('spillway.keys', on ? 'on' : 'off');
