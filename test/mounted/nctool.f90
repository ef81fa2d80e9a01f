! nctool FILE VARIABLE X Y T: one value of a netCDF file, as Fortran counts.
! nctool FILE NX NY X Y T: the same of a flat file by direct access, a record one plane of NX × NY.
program nctool
  use netcdf
  implicit none
  character(len=4096) :: path
  real :: value(1)
  call get_command_argument(1, path)
  if (command_argument_count() == 5) then
    call from_netcdf
  else
    call from_flat(number(2), number(3))
  end if
  write (*, '(f0.1)') value(1)
contains
  integer function number(at)
    integer, intent(in) :: at
    character(len=20) :: word
    call get_command_argument(at, word)
    read (word, *) number
  end function

  subroutine from_netcdf
    character(len=256) :: name
    integer :: nc, id
    call get_command_argument(2, name)
    call check(nf90_open(trim(path), nf90_nowrite, nc))
    call check(nf90_inq_varid(nc, trim(name), id))
    call check(nf90_get_var(nc, id, value, start=(/number(3), number(4), number(5)/), count=(/1, 1, 1/)))
  end subroutine

  subroutine from_flat(nx, ny)
    integer, intent(in) :: nx, ny
    real :: plane(nx, ny)
    open (10, file=trim(path), access='direct', form='unformatted', recl=4*nx*ny, action='read', status='old')
    read (10, rec=number(6)) plane
    value = plane(number(4), number(5))
  end subroutine

  subroutine check(status)
    integer, intent(in) :: status
    if (status /= nf90_noerr) then
      write (0, *) trim(nf90_strerror(status))
      stop 1
    end if
  end subroutine
end program
