//! Functions of one image among several.

/// The name of a function, and of the image that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QualifiedName<'n> {
    /// The image, empty for the executable; `None` for any.
    pub image: Option<&'n str>,
    /// The function.
    pub function: &'n str,
}

impl<'n> QualifiedName<'n> {
    /// Reads `f`, `library.so!f`, or `!f`.
    #[must_use]
    pub fn parse(name: &'n str) -> Self {
        let (image, function) =
            name.split_once('!').map_or((None, name), |(image, name)| (Some(image), name));
        Self { image, function }
    }

    /// Whether an image is meant: the one with this name, or whose name ends in it
    /// after a dot. `name` is `None` for the executable.
    #[must_use]
    pub fn is_of(&self, name: Option<&str>) -> bool {
        match (self.image, name) {
            (None, _) => true,
            (Some(meant), None) => meant.is_empty(),
            (Some(meant), Some(name)) => {
                name == meant || name.strip_suffix(meant).is_some_and(|rest| rest.ends_with('.'))
            }
        }
    }
}
