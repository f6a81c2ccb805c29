# Chromium for the tests in tests/browser: installed where that is ours to do, asked for elsewhere.
for name in chromium chromium-browser google-chrome; do
    command -v "$name" >/dev/null && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium
    exit
fi
echo "There is no Chromium on PATH: the tests of the page are skipped (an error where CI=true)."
echo "Install it with your system's packages, for example: sudo apt-get install chromium"
